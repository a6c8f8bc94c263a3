; a product with its bias and activation

; == linear_add_gelu
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
  %19 = mul i64 1, %6
  %20 = mul i64 %19, %8
  %21 = icmp sge i64 %20, 8388608
  %22 = ptrtoint ptr %14 to i64
  %23 = or i64 0, %22
  %24 = mul i64 %18, 4
  %25 = or i64 %23, %24
  %26 = and i64 %25, 63
  %27 = icmp eq i64 %26, 0
  %28 = and i1 %21, %27
  %29 = add i64 %8, 4095
  %30 = lshr i64 %29, 12
  %31 = urem i64 %2, %30
  %32 = udiv i64 %2, %30
  br label %task.head

done:                                             ; preds = %endif9, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %327, %tail.end ]
  %33 = phi i64 [ %32, %work ], [ %326, %tail.end ]
  %34 = phi i64 [ %31, %work ], [ %324, %tail.end ]
  %35 = icmp slt i64 %task1, %3
  br i1 %35, label %task, label %task.end

task:                                             ; preds = %task.head
  %36 = mul i64 %33, %16
  %37 = getelementptr float, ptr %10, i64 %36
  %38 = mul i64 %33, %18
  %39 = getelementptr float, ptr %14, i64 %38
  %40 = mul i64 %34, 4096
  %41 = add i64 %40, 4096
  %42 = call i64 @llvm.smin.i64(i64 %41, i64 %8)
  %43 = sub i64 %42, %40
  %44 = and i64 %43, -16
  %45 = add i64 %40, %44
  br i1 %28, label %then, label %else

then:                                             ; preds = %task
  br label %vector.head

vector.head:                                      ; preds = %vector, %then
  %vector2 = phi i64 [ %40, %then ], [ %154, %vector ]
  %46 = icmp slt i64 %vector2, %45
  br i1 %46, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %47 = mul i64 %vector2, 1
  %48 = getelementptr float, ptr %37, i64 %47
  %49 = load <8 x float>, ptr %48, align 4
  %50 = mul i64 %vector2, 1
  %51 = getelementptr float, ptr %37, i64 %50
  %52 = getelementptr float, ptr %51, i64 8
  %53 = load <8 x float>, ptr %52, align 4
  %54 = mul i64 %vector2, 1
  %55 = getelementptr float, ptr %12, i64 %54
  %56 = load <8 x float>, ptr %55, align 4
  %57 = mul i64 %vector2, 1
  %58 = getelementptr float, ptr %12, i64 %57
  %59 = getelementptr float, ptr %58, i64 8
  %60 = load <8 x float>, ptr %59, align 4
  %61 = fadd <8 x float> %49, %56
  %62 = fadd <8 x float> %53, %60
  %63 = fmul <8 x float> %61, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %64 = fmul <8 x float> %62, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %65 = fmul <8 x float> %61, <float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000>
  %66 = fmul <8 x float> %62, <float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000>
  %67 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %65)
  %68 = fmul <8 x float> %65, %65
  %69 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000>, <8 x float> %68, <8 x float> <float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000>)
  %70 = call <8 x float> @llvm.fma.v8f32(<8 x float> %69, <8 x float> %68, <8 x float> <float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000>)
  %71 = call <8 x float> @llvm.fma.v8f32(<8 x float> %70, <8 x float> %68, <8 x float> <float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000>)
  %72 = call <8 x float> @llvm.fma.v8f32(<8 x float> %71, <8 x float> %68, <8 x float> <float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000>)
  %73 = call <8 x float> @llvm.fma.v8f32(<8 x float> %72, <8 x float> %68, <8 x float> <float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000>)
  %74 = call <8 x float> @llvm.fma.v8f32(<8 x float> %73, <8 x float> %68, <8 x float> <float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000>)
  %75 = call <8 x float> @llvm.fma.v8f32(<8 x float> %67, <8 x float> %74, <8 x float> %67)
  %76 = fcmp ogt <8 x float> %67, <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>
  %77 = select <8 x i1> %76, <8 x float> <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>, <8 x float> %67
  %78 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000>, <8 x float> %77, <8 x float> <float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000>)
  %79 = call <8 x float> @llvm.fma.v8f32(<8 x float> %78, <8 x float> %77, <8 x float> <float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000>)
  %80 = call <8 x float> @llvm.fma.v8f32(<8 x float> %79, <8 x float> %77, <8 x float> <float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000>)
  %81 = call <8 x float> @llvm.fma.v8f32(<8 x float> %80, <8 x float> %77, <8 x float> <float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000>)
  %82 = call <8 x float> @llvm.fma.v8f32(<8 x float> %81, <8 x float> %77, <8 x float> <float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000>)
  %83 = call <8 x float> @llvm.fma.v8f32(<8 x float> %82, <8 x float> %77, <8 x float> <float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000>)
  %84 = fmul <8 x float> %83, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %85 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %84)
  %86 = call <8 x float> @llvm.fma.v8f32(<8 x float> %85, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %83)
  %87 = fmul <8 x float> %85, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %88 = fadd <8 x float> %86, %87
  %89 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %88, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %90 = call <8 x float> @llvm.fma.v8f32(<8 x float> %89, <8 x float> %88, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %91 = call <8 x float> @llvm.fma.v8f32(<8 x float> %90, <8 x float> %88, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %92 = call <8 x float> @llvm.fma.v8f32(<8 x float> %91, <8 x float> %88, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %93 = fmul <8 x float> %88, %88
  %94 = call <8 x float> @llvm.fma.v8f32(<8 x float> %93, <8 x float> %92, <8 x float> %87)
  %95 = fadd <8 x float> %86, %94
  %96 = bitcast <8 x float> %83 to <8 x i32>
  %97 = fptosi <8 x float> %85 to <8 x i32>
  %98 = add <8 x i32> %97, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %99 = shl <8 x i32> %98, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %100 = bitcast <8 x i32> %99 to <8 x float>
  %101 = call <8 x float> @llvm.fma.v8f32(<8 x float> %100, <8 x float> %95, <8 x float> %100)
  %102 = fsub <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %101
  %103 = fcmp olt <8 x float> %67, <float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01>
  %104 = select <8 x i1> %103, <8 x float> %75, <8 x float> %102
  %105 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %104, <8 x float> %65)
  %106 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %66)
  %107 = fmul <8 x float> %66, %66
  %108 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000>, <8 x float> %107, <8 x float> <float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000>)
  %109 = call <8 x float> @llvm.fma.v8f32(<8 x float> %108, <8 x float> %107, <8 x float> <float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000>)
  %110 = call <8 x float> @llvm.fma.v8f32(<8 x float> %109, <8 x float> %107, <8 x float> <float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000>)
  %111 = call <8 x float> @llvm.fma.v8f32(<8 x float> %110, <8 x float> %107, <8 x float> <float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000>)
  %112 = call <8 x float> @llvm.fma.v8f32(<8 x float> %111, <8 x float> %107, <8 x float> <float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000>)
  %113 = call <8 x float> @llvm.fma.v8f32(<8 x float> %112, <8 x float> %107, <8 x float> <float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000>)
  %114 = call <8 x float> @llvm.fma.v8f32(<8 x float> %106, <8 x float> %113, <8 x float> %106)
  %115 = fcmp ogt <8 x float> %106, <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>
  %116 = select <8 x i1> %115, <8 x float> <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>, <8 x float> %106
  %117 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000>, <8 x float> %116, <8 x float> <float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000>)
  %118 = call <8 x float> @llvm.fma.v8f32(<8 x float> %117, <8 x float> %116, <8 x float> <float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000>)
  %119 = call <8 x float> @llvm.fma.v8f32(<8 x float> %118, <8 x float> %116, <8 x float> <float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000>)
  %120 = call <8 x float> @llvm.fma.v8f32(<8 x float> %119, <8 x float> %116, <8 x float> <float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000>)
  %121 = call <8 x float> @llvm.fma.v8f32(<8 x float> %120, <8 x float> %116, <8 x float> <float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000>)
  %122 = call <8 x float> @llvm.fma.v8f32(<8 x float> %121, <8 x float> %116, <8 x float> <float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000>)
  %123 = fmul <8 x float> %122, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %124 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %123)
  %125 = call <8 x float> @llvm.fma.v8f32(<8 x float> %124, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %122)
  %126 = fmul <8 x float> %124, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %127 = fadd <8 x float> %125, %126
  %128 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %127, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %129 = call <8 x float> @llvm.fma.v8f32(<8 x float> %128, <8 x float> %127, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %130 = call <8 x float> @llvm.fma.v8f32(<8 x float> %129, <8 x float> %127, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %131 = call <8 x float> @llvm.fma.v8f32(<8 x float> %130, <8 x float> %127, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %132 = fmul <8 x float> %127, %127
  %133 = call <8 x float> @llvm.fma.v8f32(<8 x float> %132, <8 x float> %131, <8 x float> %126)
  %134 = fadd <8 x float> %125, %133
  %135 = bitcast <8 x float> %122 to <8 x i32>
  %136 = fptosi <8 x float> %124 to <8 x i32>
  %137 = add <8 x i32> %136, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %138 = shl <8 x i32> %137, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %139 = bitcast <8 x i32> %138 to <8 x float>
  %140 = call <8 x float> @llvm.fma.v8f32(<8 x float> %139, <8 x float> %134, <8 x float> %139)
  %141 = fsub <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %140
  %142 = fcmp olt <8 x float> %106, <float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01>
  %143 = select <8 x i1> %142, <8 x float> %114, <8 x float> %141
  %144 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %143, <8 x float> %66)
  %145 = fadd <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %105
  %146 = fadd <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %144
  %147 = fmul <8 x float> %63, %145
  %148 = fmul <8 x float> %64, %146
  %149 = mul i64 %vector2, 1
  %150 = getelementptr float, ptr %39, i64 %149
  store <8 x float> %147, ptr %150, align 32, !nontemporal !0
  %151 = mul i64 %vector2, 1
  %152 = getelementptr float, ptr %39, i64 %151
  %153 = getelementptr float, ptr %152, i64 8
  store <8 x float> %148, ptr %153, align 32, !nontemporal !0
  %154 = add i64 %vector2, 16
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %endif

else:                                             ; preds = %task
  br label %vector.head3

vector.head3:                                     ; preds = %vector4, %else
  %vector5 = phi i64 [ %40, %else ], [ %263, %vector4 ]
  %155 = icmp slt i64 %vector5, %45
  br i1 %155, label %vector4, label %vector.end6

vector4:                                          ; preds = %vector.head3
  %156 = mul i64 %vector5, 1
  %157 = getelementptr float, ptr %37, i64 %156
  %158 = load <8 x float>, ptr %157, align 4
  %159 = mul i64 %vector5, 1
  %160 = getelementptr float, ptr %37, i64 %159
  %161 = getelementptr float, ptr %160, i64 8
  %162 = load <8 x float>, ptr %161, align 4
  %163 = mul i64 %vector5, 1
  %164 = getelementptr float, ptr %12, i64 %163
  %165 = load <8 x float>, ptr %164, align 4
  %166 = mul i64 %vector5, 1
  %167 = getelementptr float, ptr %12, i64 %166
  %168 = getelementptr float, ptr %167, i64 8
  %169 = load <8 x float>, ptr %168, align 4
  %170 = fadd <8 x float> %158, %165
  %171 = fadd <8 x float> %162, %169
  %172 = fmul <8 x float> %170, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %173 = fmul <8 x float> %171, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %174 = fmul <8 x float> %170, <float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000>
  %175 = fmul <8 x float> %171, <float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000>
  %176 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %174)
  %177 = fmul <8 x float> %174, %174
  %178 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000>, <8 x float> %177, <8 x float> <float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000>)
  %179 = call <8 x float> @llvm.fma.v8f32(<8 x float> %178, <8 x float> %177, <8 x float> <float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000>)
  %180 = call <8 x float> @llvm.fma.v8f32(<8 x float> %179, <8 x float> %177, <8 x float> <float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000>)
  %181 = call <8 x float> @llvm.fma.v8f32(<8 x float> %180, <8 x float> %177, <8 x float> <float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000>)
  %182 = call <8 x float> @llvm.fma.v8f32(<8 x float> %181, <8 x float> %177, <8 x float> <float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000>)
  %183 = call <8 x float> @llvm.fma.v8f32(<8 x float> %182, <8 x float> %177, <8 x float> <float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000>)
  %184 = call <8 x float> @llvm.fma.v8f32(<8 x float> %176, <8 x float> %183, <8 x float> %176)
  %185 = fcmp ogt <8 x float> %176, <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>
  %186 = select <8 x i1> %185, <8 x float> <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>, <8 x float> %176
  %187 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000>, <8 x float> %186, <8 x float> <float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000>)
  %188 = call <8 x float> @llvm.fma.v8f32(<8 x float> %187, <8 x float> %186, <8 x float> <float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000>)
  %189 = call <8 x float> @llvm.fma.v8f32(<8 x float> %188, <8 x float> %186, <8 x float> <float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000>)
  %190 = call <8 x float> @llvm.fma.v8f32(<8 x float> %189, <8 x float> %186, <8 x float> <float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000>)
  %191 = call <8 x float> @llvm.fma.v8f32(<8 x float> %190, <8 x float> %186, <8 x float> <float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000>)
  %192 = call <8 x float> @llvm.fma.v8f32(<8 x float> %191, <8 x float> %186, <8 x float> <float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000>)
  %193 = fmul <8 x float> %192, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %194 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %193)
  %195 = call <8 x float> @llvm.fma.v8f32(<8 x float> %194, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %192)
  %196 = fmul <8 x float> %194, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %197 = fadd <8 x float> %195, %196
  %198 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %197, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %199 = call <8 x float> @llvm.fma.v8f32(<8 x float> %198, <8 x float> %197, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %200 = call <8 x float> @llvm.fma.v8f32(<8 x float> %199, <8 x float> %197, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %201 = call <8 x float> @llvm.fma.v8f32(<8 x float> %200, <8 x float> %197, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %202 = fmul <8 x float> %197, %197
  %203 = call <8 x float> @llvm.fma.v8f32(<8 x float> %202, <8 x float> %201, <8 x float> %196)
  %204 = fadd <8 x float> %195, %203
  %205 = bitcast <8 x float> %192 to <8 x i32>
  %206 = fptosi <8 x float> %194 to <8 x i32>
  %207 = add <8 x i32> %206, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %208 = shl <8 x i32> %207, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %209 = bitcast <8 x i32> %208 to <8 x float>
  %210 = call <8 x float> @llvm.fma.v8f32(<8 x float> %209, <8 x float> %204, <8 x float> %209)
  %211 = fsub <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %210
  %212 = fcmp olt <8 x float> %176, <float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01>
  %213 = select <8 x i1> %212, <8 x float> %184, <8 x float> %211
  %214 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %213, <8 x float> %174)
  %215 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %175)
  %216 = fmul <8 x float> %175, %175
  %217 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000>, <8 x float> %216, <8 x float> <float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000>)
  %218 = call <8 x float> @llvm.fma.v8f32(<8 x float> %217, <8 x float> %216, <8 x float> <float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000>)
  %219 = call <8 x float> @llvm.fma.v8f32(<8 x float> %218, <8 x float> %216, <8 x float> <float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000>)
  %220 = call <8 x float> @llvm.fma.v8f32(<8 x float> %219, <8 x float> %216, <8 x float> <float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000>)
  %221 = call <8 x float> @llvm.fma.v8f32(<8 x float> %220, <8 x float> %216, <8 x float> <float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000>)
  %222 = call <8 x float> @llvm.fma.v8f32(<8 x float> %221, <8 x float> %216, <8 x float> <float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000>)
  %223 = call <8 x float> @llvm.fma.v8f32(<8 x float> %215, <8 x float> %222, <8 x float> %215)
  %224 = fcmp ogt <8 x float> %215, <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>
  %225 = select <8 x i1> %224, <8 x float> <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>, <8 x float> %215
  %226 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000>, <8 x float> %225, <8 x float> <float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000>)
  %227 = call <8 x float> @llvm.fma.v8f32(<8 x float> %226, <8 x float> %225, <8 x float> <float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000>)
  %228 = call <8 x float> @llvm.fma.v8f32(<8 x float> %227, <8 x float> %225, <8 x float> <float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000>)
  %229 = call <8 x float> @llvm.fma.v8f32(<8 x float> %228, <8 x float> %225, <8 x float> <float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000>)
  %230 = call <8 x float> @llvm.fma.v8f32(<8 x float> %229, <8 x float> %225, <8 x float> <float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000>)
  %231 = call <8 x float> @llvm.fma.v8f32(<8 x float> %230, <8 x float> %225, <8 x float> <float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000>)
  %232 = fmul <8 x float> %231, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %233 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %232)
  %234 = call <8 x float> @llvm.fma.v8f32(<8 x float> %233, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %231)
  %235 = fmul <8 x float> %233, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %236 = fadd <8 x float> %234, %235
  %237 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %236, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %238 = call <8 x float> @llvm.fma.v8f32(<8 x float> %237, <8 x float> %236, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %239 = call <8 x float> @llvm.fma.v8f32(<8 x float> %238, <8 x float> %236, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %240 = call <8 x float> @llvm.fma.v8f32(<8 x float> %239, <8 x float> %236, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %241 = fmul <8 x float> %236, %236
  %242 = call <8 x float> @llvm.fma.v8f32(<8 x float> %241, <8 x float> %240, <8 x float> %235)
  %243 = fadd <8 x float> %234, %242
  %244 = bitcast <8 x float> %231 to <8 x i32>
  %245 = fptosi <8 x float> %233 to <8 x i32>
  %246 = add <8 x i32> %245, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %247 = shl <8 x i32> %246, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %248 = bitcast <8 x i32> %247 to <8 x float>
  %249 = call <8 x float> @llvm.fma.v8f32(<8 x float> %248, <8 x float> %243, <8 x float> %248)
  %250 = fsub <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %249
  %251 = fcmp olt <8 x float> %215, <float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01>
  %252 = select <8 x i1> %251, <8 x float> %223, <8 x float> %250
  %253 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %252, <8 x float> %175)
  %254 = fadd <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %214
  %255 = fadd <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %253
  %256 = fmul <8 x float> %172, %254
  %257 = fmul <8 x float> %173, %255
  %258 = mul i64 %vector5, 1
  %259 = getelementptr float, ptr %39, i64 %258
  store <8 x float> %256, ptr %259, align 4
  %260 = mul i64 %vector5, 1
  %261 = getelementptr float, ptr %39, i64 %260
  %262 = getelementptr float, ptr %261, i64 8
  store <8 x float> %257, ptr %262, align 4
  %263 = add i64 %vector5, 16
  br label %vector.head3

vector.end6:                                      ; preds = %vector.head3
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end6
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail7 = phi i64 [ %45, %endif ], [ %321, %tail ]
  %264 = icmp slt i64 %tail7, %42
  br i1 %264, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %265 = sub i64 %42, %tail7
  %266 = call i64 @llvm.umin.i64(i64 %265, i64 8)
  %267 = trunc i64 %266 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %267, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %268 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %269 = mul i64 %tail7, 1
  %270 = getelementptr float, ptr %37, i64 %269
  %271 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %270, i32 4, <8 x i1> %268, <8 x float> zeroinitializer)
  %272 = mul i64 %tail7, 1
  %273 = getelementptr float, ptr %12, i64 %272
  %274 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %273, i32 4, <8 x i1> %268, <8 x float> zeroinitializer)
  %275 = fadd <8 x float> %271, %274
  %276 = fmul <8 x float> %275, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %277 = fmul <8 x float> %275, <float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000>
  %278 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %277)
  %279 = fmul <8 x float> %277, %277
  %280 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000>, <8 x float> %279, <8 x float> <float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000>)
  %281 = call <8 x float> @llvm.fma.v8f32(<8 x float> %280, <8 x float> %279, <8 x float> <float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000>)
  %282 = call <8 x float> @llvm.fma.v8f32(<8 x float> %281, <8 x float> %279, <8 x float> <float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000>)
  %283 = call <8 x float> @llvm.fma.v8f32(<8 x float> %282, <8 x float> %279, <8 x float> <float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000>)
  %284 = call <8 x float> @llvm.fma.v8f32(<8 x float> %283, <8 x float> %279, <8 x float> <float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000>)
  %285 = call <8 x float> @llvm.fma.v8f32(<8 x float> %284, <8 x float> %279, <8 x float> <float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000>)
  %286 = call <8 x float> @llvm.fma.v8f32(<8 x float> %278, <8 x float> %285, <8 x float> %278)
  %287 = fcmp ogt <8 x float> %278, <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>
  %288 = select <8 x i1> %287, <8 x float> <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>, <8 x float> %278
  %289 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000>, <8 x float> %288, <8 x float> <float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000>)
  %290 = call <8 x float> @llvm.fma.v8f32(<8 x float> %289, <8 x float> %288, <8 x float> <float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000>)
  %291 = call <8 x float> @llvm.fma.v8f32(<8 x float> %290, <8 x float> %288, <8 x float> <float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000>)
  %292 = call <8 x float> @llvm.fma.v8f32(<8 x float> %291, <8 x float> %288, <8 x float> <float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000>)
  %293 = call <8 x float> @llvm.fma.v8f32(<8 x float> %292, <8 x float> %288, <8 x float> <float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000>)
  %294 = call <8 x float> @llvm.fma.v8f32(<8 x float> %293, <8 x float> %288, <8 x float> <float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000>)
  %295 = fmul <8 x float> %294, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %296 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %295)
  %297 = call <8 x float> @llvm.fma.v8f32(<8 x float> %296, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %294)
  %298 = fmul <8 x float> %296, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %299 = fadd <8 x float> %297, %298
  %300 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %299, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %301 = call <8 x float> @llvm.fma.v8f32(<8 x float> %300, <8 x float> %299, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %302 = call <8 x float> @llvm.fma.v8f32(<8 x float> %301, <8 x float> %299, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %303 = call <8 x float> @llvm.fma.v8f32(<8 x float> %302, <8 x float> %299, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %304 = fmul <8 x float> %299, %299
  %305 = call <8 x float> @llvm.fma.v8f32(<8 x float> %304, <8 x float> %303, <8 x float> %298)
  %306 = fadd <8 x float> %297, %305
  %307 = bitcast <8 x float> %294 to <8 x i32>
  %308 = fptosi <8 x float> %296 to <8 x i32>
  %309 = add <8 x i32> %308, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %310 = shl <8 x i32> %309, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %311 = bitcast <8 x i32> %310 to <8 x float>
  %312 = call <8 x float> @llvm.fma.v8f32(<8 x float> %311, <8 x float> %306, <8 x float> %311)
  %313 = fsub <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %312
  %314 = fcmp olt <8 x float> %278, <float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01>
  %315 = select <8 x i1> %314, <8 x float> %286, <8 x float> %313
  %316 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %315, <8 x float> %277)
  %317 = fadd <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %316
  %318 = fmul <8 x float> %276, %317
  %319 = mul i64 %tail7, 1
  %320 = getelementptr float, ptr %39, i64 %319
  call void @llvm.masked.store.v8f32.p0(<8 x float> %318, ptr %320, i32 4, <8 x i1> %268)
  %321 = add i64 %tail7, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %322 = add i64 %34, 1
  %323 = icmp eq i64 %322, %30
  %324 = select i1 %323, i64 0, i64 %322
  %325 = zext i1 %323 to i64
  %326 = add i64 %33, %325
  %327 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %28, label %then8, label %endif9

then8:                                            ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif9

endif9:                                           ; preds = %task.end, %then8
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

; Function Attrs: nounwind
declare void @llvm.x86.sse.sfence() #0

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

!0 = !{i32 1}
