; half precision is rounded once, at the end of a chain

; == add_tanh_mul_to
; loop [p0, p1] kept 2 vector 1
;   buffer b0 f16
;   buffer b1 f16
;   buffer b2 f32 written
;   access a0 b0 + 0 [p2, 1]
;   access a1 b1 + 0 [0, 1]
;   access a2 b2 + 0 [p3, 1]
;   %0 f32 = load a0
;   %1 f32 = load a1
;   %2 f32 = op Add %0 %1
;   %3 f32 = op Tanh %2
;   %4 f32 = op Mul %3 %0
;   %5 f32 = store a2 %4
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

done:                                             ; preds = %endif8, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %274, %tail.end ]
  %33 = phi i64 [ %32, %work ], [ %273, %tail.end ]
  %34 = phi i64 [ %31, %work ], [ %271, %tail.end ]
  %35 = icmp slt i64 %task1, %3
  br i1 %35, label %task, label %task.end

task:                                             ; preds = %task.head
  %36 = mul i64 %33, %16
  %37 = getelementptr i16, ptr %10, i64 %36
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
  %46 = icmp slt i64 %40, %45
  br i1 %46, label %vector, label %vector.end

vector:                                           ; preds = %vector, %then
  %vector2 = phi i64 [ %40, %then ], [ %132, %vector ]
  %47 = getelementptr i16, ptr %37, i64 %vector2
  %48 = load <8 x i16>, ptr %47, align 2
  %49 = bitcast <8 x i16> %48 to <8 x half>
  %50 = fpext <8 x half> %49 to <8 x float>
  %51 = getelementptr i16, ptr %37, i64 %vector2
  %52 = getelementptr i16, ptr %51, i64 8
  %53 = load <8 x i16>, ptr %52, align 2
  %54 = bitcast <8 x i16> %53 to <8 x half>
  %55 = fpext <8 x half> %54 to <8 x float>
  %56 = getelementptr i16, ptr %12, i64 %vector2
  %57 = load <8 x i16>, ptr %56, align 2
  %58 = bitcast <8 x i16> %57 to <8 x half>
  %59 = fpext <8 x half> %58 to <8 x float>
  %60 = getelementptr i16, ptr %12, i64 %vector2
  %61 = getelementptr i16, ptr %60, i64 8
  %62 = load <8 x i16>, ptr %61, align 2
  %63 = bitcast <8 x i16> %62 to <8 x half>
  %64 = fpext <8 x half> %63 to <8 x float>
  %65 = fadd <8 x float> %50, %59
  %66 = fadd <8 x float> %55, %64
  %67 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %65)
  %68 = fcmp ogt <8 x float> %67, <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>
  %69 = select <8 x i1> %68, <8 x float> <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>, <8 x float> %67
  %70 = fadd <8 x float> %69, %69
  %71 = fmul <8 x float> %70, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %72 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %71)
  %73 = call <8 x float> @llvm.fma.v8f32(<8 x float> %72, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %70)
  %74 = fmul <8 x float> %72, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %75 = fadd <8 x float> %73, %74
  %76 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %75, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %77 = call <8 x float> @llvm.fma.v8f32(<8 x float> %76, <8 x float> %75, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %78 = call <8 x float> @llvm.fma.v8f32(<8 x float> %77, <8 x float> %75, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %79 = call <8 x float> @llvm.fma.v8f32(<8 x float> %78, <8 x float> %75, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %80 = fmul <8 x float> %75, %75
  %81 = call <8 x float> @llvm.fma.v8f32(<8 x float> %80, <8 x float> %79, <8 x float> %74)
  %82 = fadd <8 x float> %73, %81
  %83 = bitcast <8 x float> %70 to <8 x i32>
  %84 = fptosi <8 x float> %72 to <8 x i32>
  %85 = add <8 x i32> %84, <i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126>
  %86 = shl <8 x i32> %85, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %87 = bitcast <8 x i32> %86 to <8 x float>
  %88 = fsub <8 x float> %87, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %89 = call <8 x float> @llvm.fma.v8f32(<8 x float> %87, <8 x float> %82, <8 x float> %88)
  %90 = fadd <8 x float> %89, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %91 = fdiv <8 x float> %89, %90
  %92 = fneg <8 x float> %89
  %93 = call <8 x float> @llvm.fma.v8f32(<8 x float> %92, <8 x float> %91, <8 x float> %89)
  %94 = fcmp olt <8 x float> %89, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %95 = select <8 x i1> %94, <8 x float> %93, <8 x float> %91
  %96 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %95, <8 x float> %65)
  %97 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %66)
  %98 = fcmp ogt <8 x float> %97, <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>
  %99 = select <8 x i1> %98, <8 x float> <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>, <8 x float> %97
  %100 = fadd <8 x float> %99, %99
  %101 = fmul <8 x float> %100, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %102 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %101)
  %103 = call <8 x float> @llvm.fma.v8f32(<8 x float> %102, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %100)
  %104 = fmul <8 x float> %102, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %105 = fadd <8 x float> %103, %104
  %106 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %105, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %107 = call <8 x float> @llvm.fma.v8f32(<8 x float> %106, <8 x float> %105, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %108 = call <8 x float> @llvm.fma.v8f32(<8 x float> %107, <8 x float> %105, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %109 = call <8 x float> @llvm.fma.v8f32(<8 x float> %108, <8 x float> %105, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %110 = fmul <8 x float> %105, %105
  %111 = call <8 x float> @llvm.fma.v8f32(<8 x float> %110, <8 x float> %109, <8 x float> %104)
  %112 = fadd <8 x float> %103, %111
  %113 = bitcast <8 x float> %100 to <8 x i32>
  %114 = fptosi <8 x float> %102 to <8 x i32>
  %115 = add <8 x i32> %114, <i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126>
  %116 = shl <8 x i32> %115, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %117 = bitcast <8 x i32> %116 to <8 x float>
  %118 = fsub <8 x float> %117, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %119 = call <8 x float> @llvm.fma.v8f32(<8 x float> %117, <8 x float> %112, <8 x float> %118)
  %120 = fadd <8 x float> %119, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %121 = fdiv <8 x float> %119, %120
  %122 = fneg <8 x float> %119
  %123 = call <8 x float> @llvm.fma.v8f32(<8 x float> %122, <8 x float> %121, <8 x float> %119)
  %124 = fcmp olt <8 x float> %119, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %125 = select <8 x i1> %124, <8 x float> %123, <8 x float> %121
  %126 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %125, <8 x float> %66)
  %127 = fmul <8 x float> %96, %50
  %128 = fmul <8 x float> %126, %55
  %129 = getelementptr float, ptr %39, i64 %vector2
  store <8 x float> %127, ptr %129, align 32, !nontemporal !0
  %130 = getelementptr float, ptr %39, i64 %vector2
  %131 = getelementptr float, ptr %130, i64 8
  store <8 x float> %128, ptr %131, align 32, !nontemporal !0
  %132 = add i64 %vector2, 16
  %133 = icmp slt i64 %132, %45
  br i1 %133, label %vector, label %vector.end

vector.end:                                       ; preds = %vector, %then
  br label %endif

else:                                             ; preds = %task
  %134 = icmp slt i64 %40, %45
  br i1 %134, label %vector3, label %vector.end5

vector3:                                          ; preds = %vector3, %else
  %vector4 = phi i64 [ %40, %else ], [ %220, %vector3 ]
  %135 = getelementptr i16, ptr %37, i64 %vector4
  %136 = load <8 x i16>, ptr %135, align 2
  %137 = bitcast <8 x i16> %136 to <8 x half>
  %138 = fpext <8 x half> %137 to <8 x float>
  %139 = getelementptr i16, ptr %37, i64 %vector4
  %140 = getelementptr i16, ptr %139, i64 8
  %141 = load <8 x i16>, ptr %140, align 2
  %142 = bitcast <8 x i16> %141 to <8 x half>
  %143 = fpext <8 x half> %142 to <8 x float>
  %144 = getelementptr i16, ptr %12, i64 %vector4
  %145 = load <8 x i16>, ptr %144, align 2
  %146 = bitcast <8 x i16> %145 to <8 x half>
  %147 = fpext <8 x half> %146 to <8 x float>
  %148 = getelementptr i16, ptr %12, i64 %vector4
  %149 = getelementptr i16, ptr %148, i64 8
  %150 = load <8 x i16>, ptr %149, align 2
  %151 = bitcast <8 x i16> %150 to <8 x half>
  %152 = fpext <8 x half> %151 to <8 x float>
  %153 = fadd <8 x float> %138, %147
  %154 = fadd <8 x float> %143, %152
  %155 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %153)
  %156 = fcmp ogt <8 x float> %155, <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>
  %157 = select <8 x i1> %156, <8 x float> <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>, <8 x float> %155
  %158 = fadd <8 x float> %157, %157
  %159 = fmul <8 x float> %158, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %160 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %159)
  %161 = call <8 x float> @llvm.fma.v8f32(<8 x float> %160, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %158)
  %162 = fmul <8 x float> %160, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %163 = fadd <8 x float> %161, %162
  %164 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %163, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %165 = call <8 x float> @llvm.fma.v8f32(<8 x float> %164, <8 x float> %163, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %166 = call <8 x float> @llvm.fma.v8f32(<8 x float> %165, <8 x float> %163, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %167 = call <8 x float> @llvm.fma.v8f32(<8 x float> %166, <8 x float> %163, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %168 = fmul <8 x float> %163, %163
  %169 = call <8 x float> @llvm.fma.v8f32(<8 x float> %168, <8 x float> %167, <8 x float> %162)
  %170 = fadd <8 x float> %161, %169
  %171 = bitcast <8 x float> %158 to <8 x i32>
  %172 = fptosi <8 x float> %160 to <8 x i32>
  %173 = add <8 x i32> %172, <i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126>
  %174 = shl <8 x i32> %173, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %175 = bitcast <8 x i32> %174 to <8 x float>
  %176 = fsub <8 x float> %175, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %177 = call <8 x float> @llvm.fma.v8f32(<8 x float> %175, <8 x float> %170, <8 x float> %176)
  %178 = fadd <8 x float> %177, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %179 = fdiv <8 x float> %177, %178
  %180 = fneg <8 x float> %177
  %181 = call <8 x float> @llvm.fma.v8f32(<8 x float> %180, <8 x float> %179, <8 x float> %177)
  %182 = fcmp olt <8 x float> %177, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %183 = select <8 x i1> %182, <8 x float> %181, <8 x float> %179
  %184 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %183, <8 x float> %153)
  %185 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %154)
  %186 = fcmp ogt <8 x float> %185, <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>
  %187 = select <8 x i1> %186, <8 x float> <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>, <8 x float> %185
  %188 = fadd <8 x float> %187, %187
  %189 = fmul <8 x float> %188, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %190 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %189)
  %191 = call <8 x float> @llvm.fma.v8f32(<8 x float> %190, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %188)
  %192 = fmul <8 x float> %190, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %193 = fadd <8 x float> %191, %192
  %194 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %193, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %195 = call <8 x float> @llvm.fma.v8f32(<8 x float> %194, <8 x float> %193, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %196 = call <8 x float> @llvm.fma.v8f32(<8 x float> %195, <8 x float> %193, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %197 = call <8 x float> @llvm.fma.v8f32(<8 x float> %196, <8 x float> %193, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %198 = fmul <8 x float> %193, %193
  %199 = call <8 x float> @llvm.fma.v8f32(<8 x float> %198, <8 x float> %197, <8 x float> %192)
  %200 = fadd <8 x float> %191, %199
  %201 = bitcast <8 x float> %188 to <8 x i32>
  %202 = fptosi <8 x float> %190 to <8 x i32>
  %203 = add <8 x i32> %202, <i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126>
  %204 = shl <8 x i32> %203, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %205 = bitcast <8 x i32> %204 to <8 x float>
  %206 = fsub <8 x float> %205, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %207 = call <8 x float> @llvm.fma.v8f32(<8 x float> %205, <8 x float> %200, <8 x float> %206)
  %208 = fadd <8 x float> %207, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %209 = fdiv <8 x float> %207, %208
  %210 = fneg <8 x float> %207
  %211 = call <8 x float> @llvm.fma.v8f32(<8 x float> %210, <8 x float> %209, <8 x float> %207)
  %212 = fcmp olt <8 x float> %207, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %213 = select <8 x i1> %212, <8 x float> %211, <8 x float> %209
  %214 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %213, <8 x float> %154)
  %215 = fmul <8 x float> %184, %138
  %216 = fmul <8 x float> %214, %143
  %217 = getelementptr float, ptr %39, i64 %vector4
  store <8 x float> %215, ptr %217, align 4
  %218 = getelementptr float, ptr %39, i64 %vector4
  %219 = getelementptr float, ptr %218, i64 8
  store <8 x float> %216, ptr %219, align 4
  %220 = add i64 %vector4, 16
  %221 = icmp slt i64 %220, %45
  br i1 %221, label %vector3, label %vector.end5

vector.end5:                                      ; preds = %vector3, %else
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end5
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail6 = phi i64 [ %45, %endif ], [ %268, %tail ]
  %222 = icmp slt i64 %tail6, %42
  br i1 %222, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %223 = sub i64 %42, %tail6
  %224 = call i64 @llvm.umin.i64(i64 %223, i64 8)
  %225 = trunc i64 %224 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %225, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %226 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %227 = getelementptr i16, ptr %37, i64 %tail6
  %228 = call <8 x i16> @llvm.masked.load.v8i16.p0(ptr %227, i32 2, <8 x i1> %226, <8 x i16> zeroinitializer)
  %229 = bitcast <8 x i16> %228 to <8 x half>
  %230 = fpext <8 x half> %229 to <8 x float>
  %231 = getelementptr i16, ptr %12, i64 %tail6
  %232 = call <8 x i16> @llvm.masked.load.v8i16.p0(ptr %231, i32 2, <8 x i1> %226, <8 x i16> zeroinitializer)
  %233 = bitcast <8 x i16> %232 to <8 x half>
  %234 = fpext <8 x half> %233 to <8 x float>
  %235 = fadd <8 x float> %230, %234
  %236 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %235)
  %237 = fcmp ogt <8 x float> %236, <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>
  %238 = select <8 x i1> %237, <8 x float> <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>, <8 x float> %236
  %239 = fadd <8 x float> %238, %238
  %240 = fmul <8 x float> %239, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %241 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %240)
  %242 = call <8 x float> @llvm.fma.v8f32(<8 x float> %241, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %239)
  %243 = fmul <8 x float> %241, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %244 = fadd <8 x float> %242, %243
  %245 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %244, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %246 = call <8 x float> @llvm.fma.v8f32(<8 x float> %245, <8 x float> %244, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %247 = call <8 x float> @llvm.fma.v8f32(<8 x float> %246, <8 x float> %244, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %248 = call <8 x float> @llvm.fma.v8f32(<8 x float> %247, <8 x float> %244, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %249 = fmul <8 x float> %244, %244
  %250 = call <8 x float> @llvm.fma.v8f32(<8 x float> %249, <8 x float> %248, <8 x float> %243)
  %251 = fadd <8 x float> %242, %250
  %252 = bitcast <8 x float> %239 to <8 x i32>
  %253 = fptosi <8 x float> %241 to <8 x i32>
  %254 = add <8 x i32> %253, <i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126>
  %255 = shl <8 x i32> %254, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %256 = bitcast <8 x i32> %255 to <8 x float>
  %257 = fsub <8 x float> %256, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %258 = call <8 x float> @llvm.fma.v8f32(<8 x float> %256, <8 x float> %251, <8 x float> %257)
  %259 = fadd <8 x float> %258, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %260 = fdiv <8 x float> %258, %259
  %261 = fneg <8 x float> %258
  %262 = call <8 x float> @llvm.fma.v8f32(<8 x float> %261, <8 x float> %260, <8 x float> %258)
  %263 = fcmp olt <8 x float> %258, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %264 = select <8 x i1> %263, <8 x float> %262, <8 x float> %260
  %265 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %264, <8 x float> %235)
  %266 = fmul <8 x float> %265, %230
  %267 = getelementptr float, ptr %39, i64 %tail6
  call void @llvm.masked.store.v8f32.p0(<8 x float> %266, ptr %267, i32 4, <8 x i1> %226)
  %268 = add i64 %tail6, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %269 = add i64 %34, 1
  %270 = icmp eq i64 %269, %30
  %271 = select i1 %270, i64 0, i64 %269
  %272 = zext i1 %270 to i64
  %273 = add i64 %33, %272
  %274 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %28, label %then7, label %endif8

then7:                                            ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif8

endif8:                                           ; preds = %task.end, %then7
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.fabs.v8f32(<8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.roundeven.v8f32(<8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.copysign.v8f32(<8 x float>, <8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x i16> @llvm.masked.load.v8i16.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x i16>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

; Function Attrs: nounwind
declare void @llvm.x86.sse.sfence() #0

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

!0 = !{i32 1}
