; a product with its bias and activation

; == add_gelu
; loop [p0, p1] kept 2 vector 1
;   buffer b0 f32
;   buffer b1 f32
;   buffer b2 f32 written
;   access a0 b0 + 0 [p2, 1]
;   access a1 b1 + 0 [0, 1]
;   access a2 b2 + 0 [p3, 1]
;   %0 f32 = load a0
;   %1 f32 = load a1
;   %2 f32 = op Add %0 %1
;   %3 f32 = const 0.707106769 #3fe6a09e60000000
;   %4 f32 = op Mul %2 %3
;   %5 f32 = op Erf %4
;   %6 f32 = const 1 #3ff0000000000000
;   %7 f32 = op Add %6 %5
;   %8 f32 = const 0.5 #3fe0000000000000
;   %9 f32 = op Mul %2 %8
;   %10 f32 = op Mul %9 %7
;   %11 f32 = store a2 %10
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr i64, ptr %1, i64 1
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 0
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 1
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr ptr, ptr %0, i64 2
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr i64, ptr %1, i64 2
  %16 = load i64, ptr %15, align 8
  %17 = getelementptr i64, ptr %1, i64 3
  %18 = load i64, ptr %17, align 8
  %19 = add i64 %8, 4095
  %20 = lshr i64 %19, 12
  %21 = urem i64 %2, %20
  %22 = udiv i64 %2, %20
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %208, %tail.end ]
  %23 = phi i64 [ %22, %work ], [ %207, %tail.end ]
  %24 = phi i64 [ %21, %work ], [ %205, %tail.end ]
  %25 = icmp slt i64 %task1, %3
  br i1 %25, label %task, label %task.end

task:                                             ; preds = %task.head
  %26 = mul i64 %23, %16
  %27 = getelementptr float, ptr %10, i64 %26
  %28 = mul i64 %23, %18
  %29 = getelementptr float, ptr %14, i64 %28
  %30 = mul i64 %24, 4096
  %31 = add i64 %30, 4096
  %32 = call i64 @llvm.smin.i64(i64 %31, i64 %8)
  %33 = sub i64 %32, %30
  %34 = and i64 %33, -16
  %35 = add i64 %30, %34
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ %30, %task ], [ %144, %vector ]
  %36 = icmp slt i64 %vector2, %35
  br i1 %36, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %37 = mul i64 %vector2, 1
  %38 = getelementptr float, ptr %27, i64 %37
  %39 = load <8 x float>, ptr %38, align 4
  %40 = mul i64 %vector2, 1
  %41 = getelementptr float, ptr %27, i64 %40
  %42 = getelementptr float, ptr %41, i64 8
  %43 = load <8 x float>, ptr %42, align 4
  %44 = mul i64 %vector2, 1
  %45 = getelementptr float, ptr %12, i64 %44
  %46 = load <8 x float>, ptr %45, align 4
  %47 = mul i64 %vector2, 1
  %48 = getelementptr float, ptr %12, i64 %47
  %49 = getelementptr float, ptr %48, i64 8
  %50 = load <8 x float>, ptr %49, align 4
  %51 = fadd <8 x float> %39, %46
  %52 = fadd <8 x float> %43, %50
  %53 = fmul <8 x float> %51, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %54 = fmul <8 x float> %52, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %55 = fmul <8 x float> %51, <float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000>
  %56 = fmul <8 x float> %52, <float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000>
  %57 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %55)
  %58 = fmul <8 x float> %55, %55
  %59 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000>, <8 x float> %58, <8 x float> <float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000>)
  %60 = call <8 x float> @llvm.fma.v8f32(<8 x float> %59, <8 x float> %58, <8 x float> <float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000>)
  %61 = call <8 x float> @llvm.fma.v8f32(<8 x float> %60, <8 x float> %58, <8 x float> <float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000>)
  %62 = call <8 x float> @llvm.fma.v8f32(<8 x float> %61, <8 x float> %58, <8 x float> <float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000>)
  %63 = call <8 x float> @llvm.fma.v8f32(<8 x float> %62, <8 x float> %58, <8 x float> <float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000>)
  %64 = call <8 x float> @llvm.fma.v8f32(<8 x float> %63, <8 x float> %58, <8 x float> <float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000>)
  %65 = call <8 x float> @llvm.fma.v8f32(<8 x float> %57, <8 x float> %64, <8 x float> %57)
  %66 = fcmp ogt <8 x float> %57, <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>
  %67 = select <8 x i1> %66, <8 x float> <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>, <8 x float> %57
  %68 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000>, <8 x float> %67, <8 x float> <float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000>)
  %69 = call <8 x float> @llvm.fma.v8f32(<8 x float> %68, <8 x float> %67, <8 x float> <float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000>)
  %70 = call <8 x float> @llvm.fma.v8f32(<8 x float> %69, <8 x float> %67, <8 x float> <float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000>)
  %71 = call <8 x float> @llvm.fma.v8f32(<8 x float> %70, <8 x float> %67, <8 x float> <float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000>)
  %72 = call <8 x float> @llvm.fma.v8f32(<8 x float> %71, <8 x float> %67, <8 x float> <float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000>)
  %73 = call <8 x float> @llvm.fma.v8f32(<8 x float> %72, <8 x float> %67, <8 x float> <float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000>)
  %74 = fmul <8 x float> %73, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %75 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %74)
  %76 = call <8 x float> @llvm.fma.v8f32(<8 x float> %75, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %73)
  %77 = fmul <8 x float> %75, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %78 = fadd <8 x float> %76, %77
  %79 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %78, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %80 = call <8 x float> @llvm.fma.v8f32(<8 x float> %79, <8 x float> %78, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %81 = call <8 x float> @llvm.fma.v8f32(<8 x float> %80, <8 x float> %78, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %82 = call <8 x float> @llvm.fma.v8f32(<8 x float> %81, <8 x float> %78, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %83 = fmul <8 x float> %78, %78
  %84 = call <8 x float> @llvm.fma.v8f32(<8 x float> %83, <8 x float> %82, <8 x float> %77)
  %85 = fadd <8 x float> %76, %84
  %86 = bitcast <8 x float> %73 to <8 x i32>
  %87 = fptosi <8 x float> %75 to <8 x i32>
  %88 = add <8 x i32> %87, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %89 = shl <8 x i32> %88, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %90 = bitcast <8 x i32> %89 to <8 x float>
  %91 = call <8 x float> @llvm.fma.v8f32(<8 x float> %90, <8 x float> %85, <8 x float> %90)
  %92 = fsub <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %91
  %93 = fcmp olt <8 x float> %57, <float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01>
  %94 = select <8 x i1> %93, <8 x float> %65, <8 x float> %92
  %95 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %94, <8 x float> %55)
  %96 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %56)
  %97 = fmul <8 x float> %56, %56
  %98 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000>, <8 x float> %97, <8 x float> <float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000>)
  %99 = call <8 x float> @llvm.fma.v8f32(<8 x float> %98, <8 x float> %97, <8 x float> <float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000>)
  %100 = call <8 x float> @llvm.fma.v8f32(<8 x float> %99, <8 x float> %97, <8 x float> <float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000>)
  %101 = call <8 x float> @llvm.fma.v8f32(<8 x float> %100, <8 x float> %97, <8 x float> <float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000>)
  %102 = call <8 x float> @llvm.fma.v8f32(<8 x float> %101, <8 x float> %97, <8 x float> <float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000>)
  %103 = call <8 x float> @llvm.fma.v8f32(<8 x float> %102, <8 x float> %97, <8 x float> <float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000>)
  %104 = call <8 x float> @llvm.fma.v8f32(<8 x float> %96, <8 x float> %103, <8 x float> %96)
  %105 = fcmp ogt <8 x float> %96, <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>
  %106 = select <8 x i1> %105, <8 x float> <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>, <8 x float> %96
  %107 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000>, <8 x float> %106, <8 x float> <float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000>)
  %108 = call <8 x float> @llvm.fma.v8f32(<8 x float> %107, <8 x float> %106, <8 x float> <float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000>)
  %109 = call <8 x float> @llvm.fma.v8f32(<8 x float> %108, <8 x float> %106, <8 x float> <float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000>)
  %110 = call <8 x float> @llvm.fma.v8f32(<8 x float> %109, <8 x float> %106, <8 x float> <float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000>)
  %111 = call <8 x float> @llvm.fma.v8f32(<8 x float> %110, <8 x float> %106, <8 x float> <float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000>)
  %112 = call <8 x float> @llvm.fma.v8f32(<8 x float> %111, <8 x float> %106, <8 x float> <float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000>)
  %113 = fmul <8 x float> %112, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %114 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %113)
  %115 = call <8 x float> @llvm.fma.v8f32(<8 x float> %114, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %112)
  %116 = fmul <8 x float> %114, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %117 = fadd <8 x float> %115, %116
  %118 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %117, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %119 = call <8 x float> @llvm.fma.v8f32(<8 x float> %118, <8 x float> %117, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %120 = call <8 x float> @llvm.fma.v8f32(<8 x float> %119, <8 x float> %117, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %121 = call <8 x float> @llvm.fma.v8f32(<8 x float> %120, <8 x float> %117, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %122 = fmul <8 x float> %117, %117
  %123 = call <8 x float> @llvm.fma.v8f32(<8 x float> %122, <8 x float> %121, <8 x float> %116)
  %124 = fadd <8 x float> %115, %123
  %125 = bitcast <8 x float> %112 to <8 x i32>
  %126 = fptosi <8 x float> %114 to <8 x i32>
  %127 = add <8 x i32> %126, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %128 = shl <8 x i32> %127, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %129 = bitcast <8 x i32> %128 to <8 x float>
  %130 = call <8 x float> @llvm.fma.v8f32(<8 x float> %129, <8 x float> %124, <8 x float> %129)
  %131 = fsub <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %130
  %132 = fcmp olt <8 x float> %96, <float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01>
  %133 = select <8 x i1> %132, <8 x float> %104, <8 x float> %131
  %134 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %133, <8 x float> %56)
  %135 = fadd <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %95
  %136 = fadd <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %134
  %137 = fmul <8 x float> %53, %135
  %138 = fmul <8 x float> %54, %136
  %139 = mul i64 %vector2, 1
  %140 = getelementptr float, ptr %29, i64 %139
  store <8 x float> %137, ptr %140, align 4
  %141 = mul i64 %vector2, 1
  %142 = getelementptr float, ptr %29, i64 %141
  %143 = getelementptr float, ptr %142, i64 8
  store <8 x float> %138, ptr %143, align 4
  %144 = add i64 %vector2, 16
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %35, %vector.end ], [ %202, %tail ]
  %145 = icmp slt i64 %tail3, %32
  br i1 %145, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %146 = sub i64 %32, %tail3
  %147 = call i64 @llvm.umin.i64(i64 %146, i64 8)
  %148 = trunc i64 %147 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %148, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %149 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %150 = mul i64 %tail3, 1
  %151 = getelementptr float, ptr %27, i64 %150
  %152 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %151, i32 4, <8 x i1> %149, <8 x float> zeroinitializer)
  %153 = mul i64 %tail3, 1
  %154 = getelementptr float, ptr %12, i64 %153
  %155 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %154, i32 4, <8 x i1> %149, <8 x float> zeroinitializer)
  %156 = fadd <8 x float> %152, %155
  %157 = fmul <8 x float> %156, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %158 = fmul <8 x float> %156, <float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000>
  %159 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %158)
  %160 = fmul <8 x float> %158, %158
  %161 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000>, <8 x float> %160, <8 x float> <float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000>)
  %162 = call <8 x float> @llvm.fma.v8f32(<8 x float> %161, <8 x float> %160, <8 x float> <float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000>)
  %163 = call <8 x float> @llvm.fma.v8f32(<8 x float> %162, <8 x float> %160, <8 x float> <float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000>)
  %164 = call <8 x float> @llvm.fma.v8f32(<8 x float> %163, <8 x float> %160, <8 x float> <float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000>)
  %165 = call <8 x float> @llvm.fma.v8f32(<8 x float> %164, <8 x float> %160, <8 x float> <float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000>)
  %166 = call <8 x float> @llvm.fma.v8f32(<8 x float> %165, <8 x float> %160, <8 x float> <float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000>)
  %167 = call <8 x float> @llvm.fma.v8f32(<8 x float> %159, <8 x float> %166, <8 x float> %159)
  %168 = fcmp ogt <8 x float> %159, <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>
  %169 = select <8 x i1> %168, <8 x float> <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>, <8 x float> %159
  %170 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000>, <8 x float> %169, <8 x float> <float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000>)
  %171 = call <8 x float> @llvm.fma.v8f32(<8 x float> %170, <8 x float> %169, <8 x float> <float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000>)
  %172 = call <8 x float> @llvm.fma.v8f32(<8 x float> %171, <8 x float> %169, <8 x float> <float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000>)
  %173 = call <8 x float> @llvm.fma.v8f32(<8 x float> %172, <8 x float> %169, <8 x float> <float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000>)
  %174 = call <8 x float> @llvm.fma.v8f32(<8 x float> %173, <8 x float> %169, <8 x float> <float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000>)
  %175 = call <8 x float> @llvm.fma.v8f32(<8 x float> %174, <8 x float> %169, <8 x float> <float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000>)
  %176 = fmul <8 x float> %175, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %177 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %176)
  %178 = call <8 x float> @llvm.fma.v8f32(<8 x float> %177, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %175)
  %179 = fmul <8 x float> %177, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %180 = fadd <8 x float> %178, %179
  %181 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %180, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %182 = call <8 x float> @llvm.fma.v8f32(<8 x float> %181, <8 x float> %180, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %183 = call <8 x float> @llvm.fma.v8f32(<8 x float> %182, <8 x float> %180, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %184 = call <8 x float> @llvm.fma.v8f32(<8 x float> %183, <8 x float> %180, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %185 = fmul <8 x float> %180, %180
  %186 = call <8 x float> @llvm.fma.v8f32(<8 x float> %185, <8 x float> %184, <8 x float> %179)
  %187 = fadd <8 x float> %178, %186
  %188 = bitcast <8 x float> %175 to <8 x i32>
  %189 = fptosi <8 x float> %177 to <8 x i32>
  %190 = add <8 x i32> %189, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %191 = shl <8 x i32> %190, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %192 = bitcast <8 x i32> %191 to <8 x float>
  %193 = call <8 x float> @llvm.fma.v8f32(<8 x float> %192, <8 x float> %187, <8 x float> %192)
  %194 = fsub <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %193
  %195 = fcmp olt <8 x float> %159, <float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01>
  %196 = select <8 x i1> %195, <8 x float> %167, <8 x float> %194
  %197 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %196, <8 x float> %158)
  %198 = fadd <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %197
  %199 = fmul <8 x float> %157, %198
  %200 = mul i64 %tail3, 1
  %201 = getelementptr float, ptr %29, i64 %200
  call void @llvm.masked.store.v8f32.p0(<8 x float> %199, ptr %201, i32 4, <8 x i1> %149)
  %202 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %203 = add i64 %24, 1
  %204 = icmp eq i64 %203, %20
  %205 = select i1 %204, i64 0, i64 %203
  %206 = zext i1 %204 to i64
  %207 = add i64 %23, %206
  %208 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.fabs.v8f32(<8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.roundeven.v8f32(<8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.copysign.v8f32(<8 x float>, <8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }
